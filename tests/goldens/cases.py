"""The random checkpoints of models.py: between them, every field of the configs that reverie supports. Widths are as
small as the fields' meanings allow."""

BETAS = {"num_train_timesteps": 1000, "beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear"}
CROSS, PLAIN = "CrossAttnDownBlock2D", "DownBlock2D"
CROSS_UP, PLAIN_UP = "CrossAttnUpBlock2D", "UpBlock2D"


def text(width, heads, layers, act, positions, eps=1e-5):
    return {"layer_norm_eps": eps, "hidden_size": width, "intermediate_size": 2 * width, "num_attention_heads": heads,
            "num_hidden_layers": layers, "hidden_act": act, "max_position_embeddings": positions,
            "projection_dim": width}


def vae(latent, encoder, decoder, encoder_blocks, decoder_blocks):
    levels = len(encoder_blocks)
    return {"latent_channels": latent, "encoder_block_out_channels": [encoder] * levels,
            "decoder_block_out_channels": [decoder] * levels, "num_encoder_blocks": encoder_blocks,
            "num_decoder_blocks": decoder_blocks}


def kl(channels, layers, **more):
    return {"block_out_channels": channels, "layers_per_block": layers, "norm_num_groups": 4,
            "down_block_types": ["DownEncoderBlock2D"] * len(channels),
            "up_block_types": ["UpDecoderBlock2D"] * len(channels), **more}


# Prompts and weights whose sum is not 1.
BLEND = [["an oil painting", 1.0], ["a cat at night", 0.75], ["", 0.125], ["night", 0.5]]


def run(name, mode, steps, **more):
    return {"name": name, "mode": mode, "prompt": "an oil painting", "steps": steps, "seed": 5, **more}


CASES = {
    # Stable Diffusion 1.5: one number of heads, projections that are 1x1 convolutions, quick_gelu; PNDM, and the
    # other samplers that look back, or mix in fresh noise, in its place.
    "sd15": {
        "seed": 1, "dtype": "float16", "prefix": "text_model.", "height": 48, "width": 64,
        "pipeline": "StableDiffusionPipeline",
        "unet": {"sample_size": 8, "in_channels": 4, "out_channels": 4, "block_out_channels": [16, 32],
                 "layers_per_block": 1, "down_block_types": [CROSS, PLAIN], "up_block_types": [PLAIN_UP, CROSS_UP],
                 "attention_head_dim": 4, "cross_attention_dim": 24, "norm_num_groups": 8},
        "vae": vae(4, 8, 8, [1, 1, 1, 1], [1, 1, 1, 1]),
        "text": text(24, 4, 2, "quick_gelu", 24),
        "scheduler": {"_class_name": "PNDMScheduler", "prediction_type": "epsilon", "timestep_spacing": "leading",
                      "steps_offset": 1, "set_alpha_to_one": False, "skip_prk_steps": True, "clip_sample": False,
                      **BETAS},
        "runs": [run("text-4-cfg", "text", 4, guidance=7.5, negative="a cat"),
                 run("text-3", "text", 3),
                 run("image-4-cfg", "image", 4, guidance=5.0, strength=0.5),
                 run("image-2", "image", 2, strength=0.5, prompt="a cat at night"),
                 *(run(f"pndm-{n}", "text", n) for n in (1, 2, 20)),
                 run("pndm-image-20", "image", 20, strength=0.5),
                 *(run(f"{sampler}-{n}", "text", n, sampler=sampler) | {"seed": seed} for sampler, seed in
                   (("unipc", 6), ("dpm++", 7), ("dpm++-sde", 8)) for n in (1, 2, 4, 20)),
                 *(run(f"{sampler}-{n}", "text", n, sampler=sampler) | {"seed": seed} for sampler, seed in
                   (("lms", 9), ("deis", 10)) for n in (1, 4, 20)),
                 run("ddpm-1", "text", 1, sampler="ddpm") | {"seed": 11},
                 run("dpm++-karras-4", "text", 4, sampler="dpm++", spacing="karras"),
                 run("euler-karras-4", "text", 4, sampler="euler", spacing="karras"),
                 run("unipc-image-20", "image", 20, sampler="unipc", strength=0.5),
                 run("dpm++-image-4", "image", 4, sampler="dpm++", strength=0.5),
                 run("dpm++-sde-image-20", "image", 20, sampler="dpm++-sde", strength=0.5, prompt="a cat at night"),
                 *(run(f"tcd-{n}", "text", n, sampler="tcd", eta=0.3) for n in (1, 2, 4, 20)),
                 run("tcd-image-4", "image", 4, sampler="tcd", eta=1.0, strength=0.75),
                 run("ddim-eta-4", "text", 4, sampler="ddim", eta=1.0)],
    },
    # Stable Diffusion 2.1: heads per level, linear projections, gelu, v-prediction, padding by "!", three levels, two
    # layers; zero terminal SNR.
    "sd21": {
        "seed": 2, "dtype": "bfloat16", "prefix": "text_model.", "height": 64, "width": 96, "pad": "!",
        "pipeline": "StableDiffusionPipeline",
        "unet": {"sample_size": 8, "in_channels": 4, "out_channels": 4, "block_out_channels": [8, 16, 16],
                 "layers_per_block": 2, "down_block_types": [CROSS, CROSS, PLAIN],
                 "up_block_types": [PLAIN_UP, CROSS_UP, CROSS_UP], "attention_head_dim": [1, 2, 4],
                 "cross_attention_dim": 16, "norm_num_groups": 4, "use_linear_projection": True,
                 "upcast_attention": True},
        "vae": vae(4, 8, 8, [1, 1, 1, 1], [1, 1, 1, 1]),
        "text": text(16, 2, 3, "gelu", 24),
        "scheduler": {"_class_name": "DDIMScheduler", "prediction_type": "v_prediction",
                      "timestep_spacing": "trailing", "steps_offset": 1, "set_alpha_to_one": False,
                      "clip_sample": False, "rescale_betas_zero_snr": True, **BETAS},
        "runs": [run("text-1", "text", 1), run("text-2-cfg", "text", 2, guidance=3.0, negative="a cat"),
                 run("image-4", "image", 4, strength=0.75)],
    },
    # SD-Turbo: Euler on trailing timesteps, weights in FP32 and in shards.
    "turbo": {
        "seed": 3, "dtype": "float32", "prefix": "text_model.", "height": 64, "width": 48, "shards": 3,
        "pipeline": "StableDiffusionPipeline",
        "unet": {"sample_size": 8, "in_channels": 4, "out_channels": 4, "block_out_channels": [8, 16],
                 "layers_per_block": 1, "down_block_types": [CROSS, PLAIN], "up_block_types": [PLAIN_UP, CROSS_UP],
                 "attention_head_dim": [1, 2], "cross_attention_dim": 16, "norm_num_groups": 4,
                 "use_linear_projection": True},
        "vae": vae(4, 8, 8, [0, 1, 1, 1], [1, 1, 1, 0]),
        "text": text(16, 2, 2, "gelu", 16),
        "scheduler": {"_class_name": "EulerDiscreteScheduler", "prediction_type": "epsilon",
                      "timestep_spacing": "trailing", "steps_offset": 1, "interpolation_type": "linear", **BETAS},
        "runs": [run("text-1", "text", 1), run("text-2", "text", 2), run("text-4", "text", 4),
                 run("image-2", "image", 2, strength=0.5), run("image-4", "image", 4, strength=0.75),
                 run("blend-2-cfg", "text", 2, guidance=8.0, negative="a cat", blend=BLEND)],
    },
    # InstructPix2Pix: the picture's latent beside the noisy one, three rows of guidance, Euler on leading timesteps; and
    # a middle block without attention.
    "pix2pix": {
        "seed": 4, "dtype": "float16", "prefix": "text_model.", "height": 48, "width": 64,
        "pipeline": "StableDiffusionInstructPix2PixPipeline",
        "unet": {"sample_size": 8, "in_channels": 8, "out_channels": 4, "block_out_channels": [16, 16],
                 "layers_per_block": 1, "down_block_types": [CROSS, PLAIN], "up_block_types": [PLAIN_UP, CROSS_UP],
                 "mid_block_type": "UNetMidBlock2D", "attention_head_dim": 2, "cross_attention_dim": 16,
                 "norm_num_groups": 8},
        "vae": vae(4, 8, 8, [1, 1, 1, 1], [1, 1, 1, 1]),
        "text": text(16, 2, 2, "quick_gelu", 16),
        "scheduler": {"_class_name": "EulerDiscreteScheduler", "prediction_type": "epsilon",
                      "timestep_spacing": "leading", "steps_offset": 1, "interpolation_type": "linear", **BETAS},
        "runs": [run("edit-4-cfg", "edit", 4, guidance=7.5, image_guidance=1.5, negative="a cat"),
                 run("edit-3", "edit", 3), run("edit-1", "edit", 1, prompt="a cat at night")],
    },
    # Full LCM: the guidance scale as an embedding; keys of the text encoder without their usual prefix.
    "lcm": {
        "seed": 5, "dtype": "float16", "prefix": "", "height": 48, "width": 64,
        "pipeline": "LatentConsistencyModelPipeline",
        "unet": {"sample_size": 8, "in_channels": 4, "out_channels": 4, "block_out_channels": [16, 16],
                 "layers_per_block": 1, "down_block_types": [CROSS, PLAIN], "up_block_types": [PLAIN_UP, CROSS_UP],
                 "attention_head_dim": 4, "cross_attention_dim": 16, "norm_num_groups": 8, "time_cond_proj_dim": 32},
        "vae": vae(4, 8, 8, [1, 1, 1, 1], [1, 1, 1, 1]),
        "text": text(16, 2, 2, "quick_gelu", 16),
        "scheduler": {"_class_name": "LCMScheduler", "prediction_type": "epsilon", "original_inference_steps": 50,
                      "timestep_scaling": 10.0, "set_alpha_to_one": True, "clip_sample": False, **BETAS},
        "runs": [run("text-1", "text", 1, guidance=8.5), run("text-4", "text", 4, guidance=8.5),
                 run("text-4-weak", "text", 4, guidance=2.0),
                 run("image-4", "image", 4, guidance=8.5, strength=0.5)],
    },
    # Everything per level, 16 latent channels, an autoencoder of scale 4, sine before cosine, the picture's latent as
    # the sampler has it: shaped like mini.
    "levels": {
        "seed": 6, "dtype": "float16", "prefix": "text_model.", "height": 48, "width": 32,
        "pipeline": "StableDiffusionInstructPix2PixPipeline",
        "unet": {"sample_size": [12, 8], "in_channels": 32, "out_channels": 16, "block_out_channels": [8, 16, 24],
                 "layers_per_block": [1, 2, 1], "down_block_types": [PLAIN, CROSS, CROSS],
                 "up_block_types": [PLAIN_UP, CROSS_UP, CROSS_UP], "attention_head_dim": [1, 4, 3],
                 "transformer_layers_per_block": [1, 2, 1], "only_cross_attention": [True, False, True],
                 "cross_attention_dim": 16, "norm_num_groups": 8, "norm_eps": 1e-6, "use_linear_projection": True,
                 "flip_sin_to_cos": False, "freq_shift": 1, "time_embedding_dim": 48},
        "unet_extra": {"_image_scaling_factor": 1.0},
        "vae": vae(16, 12, 8, [0, 2, 1], [2, 1, 0]),
        "text": text(16, 4, 1, "quick_gelu", 16, 1e-6),
        "scheduler": {"_class_name": "EulerDiscreteScheduler", "prediction_type": "v_prediction",
                      "timestep_spacing": "trailing", "steps_offset": 0, "interpolation_type": "linear", **BETAS},
        "runs": [run("edit-1", "edit", 1), run("edit-2", "edit", 2), run("edit-4", "edit", 4)],
    },
    # No middle block, and attention on the way up alone.
    "nomid": {
        "seed": 7, "dtype": "bfloat16", "prefix": "", "height": 32, "width": 48,
        "pipeline": "StableDiffusionPipeline",
        "unet": {"sample_size": 4, "in_channels": 4, "out_channels": 4, "block_out_channels": [8, 8],
                 "layers_per_block": 1, "down_block_types": [PLAIN, PLAIN], "up_block_types": [CROSS_UP, PLAIN_UP],
                 "mid_block_type": None, "attention_head_dim": 2, "cross_attention_dim": 16, "norm_num_groups": 4},
        "vae": vae(4, 8, 8, [1, 1, 1, 1], [1, 1, 1, 1]),
        "text": text(16, 2, 1, "gelu", 16),
        "scheduler": {"_class_name": "DDIMScheduler", "prediction_type": "epsilon", "timestep_spacing": "leading",
                      "steps_offset": 1, "set_alpha_to_one": True, "clip_sample": False, **BETAS},
        "runs": [run("text-2", "text", 2)],
    },
    # The layers that the tiny autoencoder of FLUX.2 has and diffusers' class has not.
    "pools": {
        "seed": 11, "dtype": "float16", "prefix": "text_model.", "height": 32, "width": 48,
        "pipeline": "StableDiffusionPipeline",
        "unet": {"sample_size": 8, "in_channels": 6, "out_channels": 6, "block_out_channels": [8, 8],
                 "layers_per_block": 1, "down_block_types": [CROSS, PLAIN], "up_block_types": [PLAIN_UP, CROSS_UP],
                 "attention_head_dim": 2, "cross_attention_dim": 16, "norm_num_groups": 4},
        "vae": vae(6, 8, 8, [0, 1, 2], [2, 1, 1]), "pools": {"encoder": [4, 5], "decoder": [2, 3]},
        "text": text(16, 2, 1, "gelu", 16),
        "scheduler": {"_class_name": "EulerDiscreteScheduler", "prediction_type": "epsilon",
                      "timestep_spacing": "trailing", "steps_offset": 1, "interpolation_type": "linear", **BETAS},
        "runs": [run("image-2", "image", 2, strength=0.5)],
    },
    # AutoencoderKL: three levels of three layers, one of which keeps its width; a shift beside the factor.
    "kl": {
        "seed": 8, "dtype": "float16", "prefix": "text_model.", "height": 40, "width": 56,
        "pipeline": "StableDiffusionPipeline",
        "unet": {"sample_size": 8, "in_channels": 4, "out_channels": 4, "block_out_channels": [8, 16],
                 "layers_per_block": 1, "down_block_types": [CROSS, PLAIN], "up_block_types": [PLAIN_UP, CROSS_UP],
                 "attention_head_dim": [1, 2], "cross_attention_dim": 16, "norm_num_groups": 4,
                 "use_linear_projection": True},
        "vae": kl([8, 12, 12], 3, scaling_factor=0.36, shift_factor=0.12),
        "text": text(16, 2, 1, "gelu", 16),
        "scheduler": {"_class_name": "EulerDiscreteScheduler", "prediction_type": "epsilon",
                      "timestep_spacing": "trailing", "steps_offset": 1, "interpolation_type": "linear", **BETAS},
        "runs": [run("text-1", "text", 1), run("image-2", "image", 2, strength=0.5),
                 run("image-4", "image", 4, strength=0.75)],
    },
    # InstructPix2Pix's picture latent is unscaled; four levels, no quantisation layers, plain FP16 without a way out.
    "klpix": {
        "seed": 9, "dtype": "bfloat16", "prefix": "text_model.", "height": 48, "width": 64,
        "pipeline": "StableDiffusionInstructPix2PixPipeline",
        "unet": {"sample_size": 8, "in_channels": 8, "out_channels": 4, "block_out_channels": [8, 8],
                 "layers_per_block": 1, "down_block_types": [CROSS, PLAIN], "up_block_types": [PLAIN_UP, CROSS_UP],
                 "attention_head_dim": 2, "cross_attention_dim": 16, "norm_num_groups": 4},
        "vae": kl([4, 8, 8, 12], 1, use_quant_conv=False, use_post_quant_conv=False, force_upcast=False),
        "text": text(16, 2, 1, "quick_gelu", 16),
        "scheduler": {"_class_name": "EulerDiscreteScheduler", "prediction_type": "epsilon",
                      "timestep_spacing": "leading", "steps_offset": 1, "interpolation_type": "linear", **BETAS},
        "runs": [run("edit-3", "edit", 3), run("edit-3-cfg", "edit", 3, guidance=7.5, image_guidance=1.5)],
    },
    # An autoencoder whose inner values FP16 cannot hold, as SDXL's.
    "klwide": {
        "seed": 10, "dtype": "float32", "prefix": "text_model.", "height": 32, "width": 48, "widened": 2.0**20,
        "pipeline": "StableDiffusionPipeline",
        "unet": {"sample_size": 8, "in_channels": 4, "out_channels": 4, "block_out_channels": [8, 8],
                 "layers_per_block": 1, "down_block_types": [CROSS, PLAIN], "up_block_types": [PLAIN_UP, CROSS_UP],
                 "attention_head_dim": 2, "cross_attention_dim": 16, "norm_num_groups": 4},
        "vae": kl([8, 12], 1, scaling_factor=0.13025),
        "text": text(16, 2, 1, "gelu", 16),
        "scheduler": {"_class_name": "EulerDiscreteScheduler", "prediction_type": "epsilon",
                      "timestep_spacing": "trailing", "steps_offset": 1, "interpolation_type": "linear", **BETAS},
        "runs": [run("image-2", "image", 2, strength=0.5)],
    },
    # SDXL: two text encoders, pooled text and sizes in the time embedding, deeper the further in; its base's scheduler,
    # and zeros for a negative prompt that says nothing.
    "sdxl": {
        "seed": 8, "dtype": "float16", "prefix": "text_model.", "height": 64, "width": 32,
        "pipeline": "StableDiffusionXLPipeline",
        "unet": {"sample_size": 8, "in_channels": 4, "out_channels": 4, "block_out_channels": [8, 8, 16],
                 "layers_per_block": 1, "down_block_types": [PLAIN, CROSS, CROSS],
                 "up_block_types": [CROSS_UP, CROSS_UP, PLAIN_UP], "attention_head_dim": [1, 1, 2],
                 "transformer_layers_per_block": [1, 1, 2], "cross_attention_dim": 40, "norm_num_groups": 4,
                 "use_linear_projection": True, "addition_embed_type": "text_time", "addition_time_embed_dim": 8,
                 "projection_class_embeddings_input_dim": 64},
        "vae": vae(4, 8, 8, [1, 1, 1, 1], [1, 1, 1, 1]),
        "text": text(16, 2, 2, "quick_gelu", 16),
        "text2": text(24, 3, 3, "gelu", 16) | {"projection_dim": 16, "eos_token_id": 2},
        "scheduler": {"_class_name": "EulerDiscreteScheduler", "prediction_type": "epsilon",
                      "timestep_spacing": "leading", "steps_offset": 1, "interpolation_type": "linear",
                      "final_sigmas_type": "zero", "set_alpha_to_one": False, "skip_prk_steps": True,
                      "sample_max_value": 1.0, "clip_sample": False, **BETAS},
        "index": {"force_zeros_for_empty_prompt": True},
        "runs": [run("text-1", "text", 1), run("text-4-cfg", "text", 4, guidance=5.0),
                 run("text-4-negative", "text", 4, guidance=5.0, negative="a cat"),
                 run("image-2", "image", 2, strength=0.5), run("image-6-cfg", "image", 6, guidance=3.0, strength=0.5)],
    },
    # InstructPix2Pix with SDXL: pooled text for each of three rows.
    "sdxlpix": {
        "seed": 11, "dtype": "float16", "prefix": "text_model.", "height": 32, "width": 48,
        "pipeline": "StableDiffusionXLInstructPix2PixPipeline",
        "unet": {"sample_size": 8, "in_channels": 8, "out_channels": 4, "block_out_channels": [8, 8],
                 "layers_per_block": 1, "down_block_types": [PLAIN, CROSS], "up_block_types": [CROSS_UP, PLAIN_UP],
                 "attention_head_dim": [1, 2], "cross_attention_dim": 16, "norm_num_groups": 4,
                 "use_linear_projection": True, "addition_embed_type": "text_time", "addition_time_embed_dim": 4,
                 "projection_class_embeddings_input_dim": 32},
        "vae": vae(4, 8, 8, [1, 1, 1, 1], [1, 1, 1, 1]),
        "text": text(8, 2, 2, "quick_gelu", 16),
        "text2": text(8, 1, 2, "gelu", 16) | {"projection_dim": 8, "eos_token_id": 2},
        "scheduler": {"_class_name": "EulerDiscreteScheduler", "prediction_type": "epsilon",
                      "timestep_spacing": "leading", "steps_offset": 1, "interpolation_type": "linear", **BETAS},
        "runs": [run("edit-3", "edit", 3), run("edit-3-cfg", "edit", 3, guidance=5.0, image_guidance=1.5),
                 run("edit-3-negative", "edit", 3, guidance=5.0, image_guidance=1.5, negative="a cat")],
    },
    # SSD-1B: a depth for each attention, fewer on the way down, and none in the middle; ancestral steps as SDXL-Turbo;
    # SDXL with an AutoencoderKL, whose scaling factor is another than SD's.
    "sdxlkl": {
        "seed": 12, "dtype": "float16", "prefix": "text_model.", "height": 32, "width": 32,
        "pipeline": "StableDiffusionXLPipeline",
        "unet": {"sample_size": 8, "in_channels": 4, "out_channels": 4, "block_out_channels": [4, 8],
                 "layers_per_block": 1, "down_block_types": [PLAIN, CROSS], "up_block_types": [CROSS_UP, PLAIN_UP],
                 "attention_head_dim": [1, 2], "cross_attention_dim": 8, "norm_num_groups": 2,
                 "use_linear_projection": True, "addition_embed_type": "text_time", "addition_time_embed_dim": 4,
                 "projection_class_embeddings_input_dim": 32},
        "vae": kl([4, 4, 4, 8], 1, scaling_factor=0.13025, force_upcast=True),
        "text": text(4, 1, 1, "quick_gelu", 16),
        "text2": text(4, 1, 1, "gelu", 16) | {"projection_dim": 8, "eos_token_id": 2},
        "scheduler": {"_class_name": "EulerAncestralDiscreteScheduler", "prediction_type": "epsilon",
                      "timestep_spacing": "trailing", "steps_offset": 1, "interpolation_type": "linear", **BETAS},
        "runs": [run("text-1", "text", 1), run("image-2", "image", 2, strength=0.5),
                 run("image-4-cfg", "image", 4, guidance=5.0, strength=0.75, negative="a cat")],
    },
    # SDXL inpainting: nine channels.
    "sdxlinpaint": {
        "seed": 14, "dtype": "float16", "prefix": "text_model.", "height": 32, "width": 32,
        "pipeline": "StableDiffusionXLInpaintPipeline",
        "unet": {"sample_size": 8, "in_channels": 9, "out_channels": 4, "block_out_channels": [4, 8],
                 "layers_per_block": 1, "down_block_types": [PLAIN, CROSS], "up_block_types": [CROSS_UP, PLAIN_UP],
                 "attention_head_dim": [1, 2], "cross_attention_dim": 8, "norm_num_groups": 2,
                 "use_linear_projection": True, "addition_embed_type": "text_time", "addition_time_embed_dim": 4,
                 "projection_class_embeddings_input_dim": 32},
        "vae": vae(4, 4, 4, [0, 1, 1, 1], [1, 1, 1, 0]),
        "text": text(4, 1, 1, "quick_gelu", 16),
        "text2": text(4, 1, 1, "gelu", 16) | {"projection_dim": 8, "eos_token_id": 2},
        "scheduler": {"_class_name": "EulerDiscreteScheduler", "prediction_type": "epsilon",
                      "timestep_spacing": "leading", "steps_offset": 1, "interpolation_type": "linear", **BETAS},
        "runs": [run("inpaint-3", "inpaint", 3, strength=1.0),
                 run("inpaint-4-cfg", "inpaint", 4, guidance=5.0, strength=0.5, negative="a cat")],
    },
    # keys of the text encoders without their usual prefix.
    "ssd": {
        "seed": 9, "dtype": "float16", "prefix": "", "height": 64, "width": 32,
        "pipeline": "StableDiffusionXLPipeline",
        "unet": {"sample_size": 8, "in_channels": 4, "out_channels": 4, "block_out_channels": [8, 8, 16],
                 "layers_per_block": 2, "down_block_types": [PLAIN, CROSS, CROSS],
                 "up_block_types": [CROSS_UP, CROSS_UP, PLAIN_UP], "attention_head_dim": [1, 1, 2],
                 "transformer_layers_per_block": [[1], [2, 1], [1, 2]],
                 "reverse_transformer_layers_per_block": [[1, 1, 2], [2, 1, 1], 1], "mid_block_type": "UNetMidBlock2D",
                 "cross_attention_dim": 24, "norm_num_groups": 4, "use_linear_projection": True,
                 "addition_embed_type": "text_time", "addition_time_embed_dim": 4,
                 "projection_class_embeddings_input_dim": 32},
        "vae": vae(4, 8, 8, [1, 1, 1, 1], [1, 1, 1, 1]),
        "text": text(8, 2, 1, "quick_gelu", 16),
        "text2": text(16, 2, 2, "gelu", 16) | {"projection_dim": 8},
        "scheduler": {"_class_name": "EulerAncestralDiscreteScheduler", "prediction_type": "epsilon",
                      "timestep_spacing": "trailing", "steps_offset": 1, "interpolation_type": "linear",
                      "set_alpha_to_one": False, "skip_prk_steps": True, "sample_max_value": 1.0,
                      "clip_sample": False, **BETAS},
        "index": {"force_zeros_for_empty_prompt": False},
        "runs": [run("text-1", "text", 1), run("text-2", "text", 2), run("text-4-cfg", "text", 4, guidance=4.0),
                 run("image-2", "image", 2, strength=0.5), run("image-4", "image", 4, strength=0.75),
                 run("blend-2-cfg", "text", 2, guidance=8.0, negative="a cat", blend=BLEND)],
    },
    # Inpainting: beside the noisy latent the mask and the latent of what it leaves of the picture.
    "inpaint": {
        "seed": 8, "dtype": "float16", "prefix": "text_model.", "height": 64, "width": 80,
        "pipeline": "StableDiffusionInpaintPipeline",
        "unet": {"sample_size": 8, "in_channels": 9, "out_channels": 4, "block_out_channels": [16, 16],
                 "layers_per_block": 1, "down_block_types": [CROSS, PLAIN], "up_block_types": [PLAIN_UP, CROSS_UP],
                 "attention_head_dim": 2, "cross_attention_dim": 16, "norm_num_groups": 8},
        "vae": vae(4, 8, 8, [1, 1, 1, 1], [1, 1, 1, 1]),
        "text": text(16, 2, 2, "quick_gelu", 16),
        "scheduler": {"_class_name": "EulerDiscreteScheduler", "prediction_type": "epsilon",
                      "timestep_spacing": "leading", "steps_offset": 1, "interpolation_type": "linear", **BETAS},
        "runs": [run("inpaint-4-cfg", "inpaint", 4, guidance=7.5, negative="a cat", strength=1.0),
                 run("inpaint-3", "inpaint", 3, strength=1.0),
                 run("inpaint-4", "inpaint", 4, strength=0.5, prompt="a cat at night")],
    },
    # BK-SDM base: one layer a level, four levels, a config that does not name the middle block.
    "bkbase": {
        "seed": 9, "dtype": "float16", "prefix": "text_model.", "height": 64, "width": 64,
        "pipeline": "StableDiffusionPipeline",
        "unet": {"sample_size": 8, "in_channels": 4, "out_channels": 4, "block_out_channels": [8, 8, 16, 16],
                 "layers_per_block": 1, "down_block_types": [CROSS, CROSS, CROSS, PLAIN],
                 "up_block_types": [PLAIN_UP, CROSS_UP, CROSS_UP, CROSS_UP], "attention_head_dim": 4,
                 "cross_attention_dim": 16, "norm_num_groups": 4},
        "unet_absent": ["mid_block_type"],
        "vae": vae(4, 8, 8, [1, 1, 1, 1], [1, 1, 1, 1]),
        "text": text(16, 2, 1, "quick_gelu", 16),
        "scheduler": {"_class_name": "PNDMScheduler", "prediction_type": "epsilon", "steps_offset": 1,
                      "set_alpha_to_one": False, "skip_prk_steps": True, "clip_sample": False, **BETAS},
        "runs": [run("text-2", "text", 2), run("image-4", "image", 4, strength=0.5)],
    },
    # BK-SDM tiny and tiny-sd: attention at all of three levels, no middle block; small has a fourth level without. Of
    # its scheduler the pipeline sets steps_offset and clip_sample right.
    "bktiny": {
        "seed": 10, "dtype": "float16", "prefix": "text_model.", "height": 32, "width": 64,
        "pipeline": "StableDiffusionPipeline",
        "unet": {"sample_size": 8, "in_channels": 4, "out_channels": 4, "block_out_channels": [8, 8, 16],
                 "layers_per_block": 1, "down_block_types": [CROSS, CROSS, CROSS],
                 "up_block_types": [CROSS_UP, CROSS_UP, CROSS_UP], "mid_block_type": None, "attention_head_dim": 4,
                 "cross_attention_dim": 16, "norm_num_groups": 4},
        "vae": vae(4, 8, 8, [1, 1, 1, 1], [1, 1, 1, 1]),
        "text": text(16, 2, 1, "quick_gelu", 16),
        "scheduler": {"_class_name": "DDIMScheduler", "prediction_type": "epsilon", "timestep_spacing": "leading",
                      "set_alpha_to_one": False, **BETAS},
        "runs": [run("text-2", "text", 2), run("image-4", "image", 4, strength=0.5)],
    },
    # SDXS: no attention at the first level, no middle block, one step. (SDXS 0.9 has the levels of BK-SDM tiny.)
    "sdxs": {
        "seed": 11, "dtype": "float16", "prefix": "text_model.", "height": 32, "width": 64,
        "pipeline": "StableDiffusionPipeline",
        "unet": {"sample_size": 8, "in_channels": 4, "out_channels": 4, "block_out_channels": [8, 8, 16],
                 "layers_per_block": 1, "down_block_types": [PLAIN, CROSS, CROSS],
                 "up_block_types": [CROSS_UP, CROSS_UP, PLAIN_UP], "mid_block_type": None, "attention_head_dim": 4,
                 "cross_attention_dim": 16, "norm_num_groups": 4},
        "vae": vae(4, 8, 8, [1, 1, 1, 1], [1, 1, 1, 1]),
        "text": text(16, 2, 1, "quick_gelu", 16),
        "scheduler": {"_class_name": "EulerDiscreteScheduler", "prediction_type": "epsilon",
                      "timestep_spacing": "trailing", "steps_offset": 0, "interpolation_type": "linear", **BETAS},
        "runs": [run("text-1", "text", 1)],
    },
    # An LCM that was merged into Stable Diffusion's own network: no embedding of guidance, and Stable Diffusion's
    # pipelines, whose image to image keeps the last of the steps.
    "merged": {
        "seed": 13, "dtype": "float16", "prefix": "text_model.", "height": 32, "width": 64,
        "pipeline": "StableDiffusionPipeline",
        "unet": {"sample_size": 8, "in_channels": 4, "out_channels": 4, "block_out_channels": [8, 16],
                 "layers_per_block": 1, "down_block_types": [CROSS, PLAIN], "up_block_types": [PLAIN_UP, CROSS_UP],
                 "attention_head_dim": 4, "cross_attention_dim": 16, "norm_num_groups": 4},
        "vae": vae(4, 8, 8, [1, 1, 1, 1], [1, 1, 1, 1]),
        "text": text(16, 2, 1, "quick_gelu", 16),
        "scheduler": {"_class_name": "LCMScheduler", "prediction_type": "epsilon", "original_inference_steps": 50,
                      "timestep_scaling": 10.0, "set_alpha_to_one": True, "clip_sample": False, **BETAS},
        "runs": [run("text-4", "text", 4), run("image-4", "image", 4, strength=0.5),
                 run("image-4-cfg", "image", 4, strength=0.8, guidance=2.0)],
    },
}
